label-a
  	
push-65   	     	
put-character	
  jump-to-a
 
	
