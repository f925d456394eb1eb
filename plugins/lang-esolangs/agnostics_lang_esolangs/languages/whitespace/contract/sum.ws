call-number
 		
push-1   	
retrieve			call-number
 		
push-1   	
retrieve			add	   put-number	
 	push-10   	 	 
put-character	
  end


label-number
  	
push-1   	
push-0   
store		 label-blank
  	 
call-char
 			
push-0   
retrieve			push-33   	    	
subtract	  	jump-if-negative-to-blank
			 
label-digit
  	  
push-1   	
push-1   	
retrieve			push-10   	 	 
multiply	  
push-0   
retrieve			add	   push-48   		    
subtract	  	store		 call-char
 			
push-0   
retrieve			push-33   	    	
subtract	  	jump-if-negative-to-stop
			 	
jump-to-digit
 
	  
label-stop
  	 	
return
	
label-char
  		
push-0   
get-character	
	 return
	
