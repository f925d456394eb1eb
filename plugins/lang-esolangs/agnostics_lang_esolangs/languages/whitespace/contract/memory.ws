label-a
  	
push-1   	
jump-to-a
 
	
